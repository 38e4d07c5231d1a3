"""The identities of `arith`, in the language of `rule_text.py`.

Constants are on the right: the driver moves them there in commutative ops. `extui` and `extsi` of i1 are 1 and -1.
"""

RULES = """
# -- addition and subtraction

addi(x, 0) -> x
addi(subi(a, b), b) -> a
addi(addi(x, c0), c1) -> addi[nsw, nuw](x, addi(c0, c1))
addi(subi(x, c0), c1) -> addi[nsw, nuw](x, subi(c1, c0))
addi(subi(c0, x), c1) -> subi[nsw, nuw](addi(c0, c1), x)
addi(x, muli(y, -1)) -> subi[nsw](x, y)

subi(x, x) -> 0
subi(x, 0) -> x
subi(addi(a, b), b) -> a
subi(subi(a, b), a) -> subi[nsw, nuw](0, b)
subi(addi(x, c0), c1) -> addi[nsw, nuw](x, subi(c0, c1))
subi(subi(x, c0), c1) -> subi[nsw, nuw](x, addi(c0, c1))
subi(subi(c0, x), c1) -> subi[nsw, nuw](subi(c0, c1), x)
subi(c1, addi(x, c0)) -> subi[nsw, nuw](subi(c1, c0), x)
subi(c1, subi(x, c0)) -> subi[nsw, nuw](addi(c1, c0), x)
subi(c1, subi(c0, x)) -> addi[nsw, nuw](x, subi(c1, c0))

addui_extended(x, 0) -> (x, 0)
addui_extended(x, y) -> (addi(x, y), None)

# -- multiplication and division

muli(x, 0) -> 0
muli(x, 1) -> x
muli(muli(x, c0), c1) -> muli[nsw, nuw](x, muli(c0, c1))

mulsi_extended(x, 0) -> (0, 0)
mulsi_extended(x, 1) -> (x, extsi(cmpi[slt](x, 0))) if w > 1
mulsi_extended(x, y) -> (muli(x, y), None)
mului_extended(x, 0) -> (0, 0)
mului_extended(x, 1) -> (x, 0)
mului_extended(x, y) -> (muli(x, y), None)

divui(x, 1) -> x
divsi(x, 1) -> x
ceildivui(x, 1) -> x
ceildivsi(x, 1) -> x
floordivsi(x, 1) -> x
divui(muli[nuw](a, b), b) -> a
divsi(muli[nsw](a, b), b) -> a
ceildivui(muli[nuw](a, b), b) -> a
ceildivsi(muli[nsw](a, b), b) -> a
floordivsi(muli[nsw](a, b), b) -> a
remui(x, 1) -> 0
remsi(x, 1) -> 0

# -- bits

andi(x, x) -> x
andi(x, 0) -> 0
andi(x, -1) -> x
andi(x, xori(x, -1)) -> 0
andi(x, z := andi(x, y)) -> z
andi(andi(x, c0), c1) -> andi(x, andi(c0, c1))
andi(extsi(x), extsi(y)) -> extsi(andi(x, y)) if type(x) is type(y)
andi(extui(x), extui(y)) -> extui(andi(x, y)) if type(x) is type(y)

ori(x, x) -> x
ori(x, 0) -> x
ori(x, -1) -> -1
ori(x, xori(x, -1)) -> -1
ori(ori(x, c0), c1) -> ori(x, ori(c0, c1))
ori(extsi(x), extsi(y)) -> extsi(ori(x, y)) if type(x) is type(y)
ori(extui(x), extui(y)) -> extui(ori(x, y)) if type(x) is type(y)

xori(x, x) -> 0
xori(x, 0) -> x
xori(xori(a, b), b) -> a
xori(xori(x, c0), c1) -> xori(x, xori(c0, c1))
xori(cmpi[p](x, y), -1) -> cmpi[inverse(p)](x, y)
xori(extsi(x), extsi(y)) -> extsi(xori(x, y)) if type(x) is type(y)
xori(extui(x), extui(y)) -> extui(xori(x, y)) if type(x) is type(y)

shli(x, 0) -> x
shrui(x, 0) -> x
shrsi(x, 0) -> x

# -- minimum and maximum

maxsi(x, x) -> x
maxsi(x, smin) -> x
maxsi(x, smax) -> smax
minsi(x, x) -> x
minsi(x, smax) -> x
minsi(x, smin) -> smin
maxui(x, x) -> x
maxui(x, 0) -> x
maxui(x, -1) -> -1
minui(x, x) -> x
minui(x, -1) -> x
minui(x, 0) -> 0

# -- comparison of integers

cmpi[p](x, x) -> 1 if reflexive(p)
cmpi[p](x, x) -> 0 if not reflexive(p)
cmpi[eq](x, -1) -> x if type(x) is out
cmpi[ne](x, 0) -> x if type(x) is out
cmpi[ne](extui(x), 0) -> x if type(x) is out
cmpi[ne](extsi(x), 0) -> x if type(x) is out
cmpi[eq](extui(x), 1) -> x if type(x) is out
cmpi[eq](extsi(x), -1) -> x if type(x) is out
cmpi[p](c, x) -> cmpi[swapped(p)](x, c) if not is_constant(x)
cmpi[p](extsi(x), extsi(y)) -> cmpi[p](x, y) if type(x) is type(y) and (is_equality(p) or is_signed(p))
cmpi[p](extui(x), extui(y)) -> cmpi[p](x, y) if type(x) is type(y) and (is_equality(p) or is_unsigned(p))

# -- selection

select(p, x, x) -> x
select(-1, x, y) -> x
select(0, x, y) -> y
select(p, poison, y) -> y
select(p, x, poison) -> x
select(poison, x, y) -> poison
select(cmpi[eq](x, y), x, y) -> y
select(cmpi[eq](x, y), y, x) -> x
select(cmpi[ne](x, y), x, y) -> x
select(cmpi[ne](x, y), y, x) -> y
select(p, -1, 0) -> p if type(p) is out
select(p, 0, -1) -> xori(p, -1) if type(p) is out
select(p, 1, 0) -> extui(p) if is_integer(out) and w > 1 and same_shape(type(p), out)
select(p, 0, 1) -> extui(xori(p, -1)) if is_integer(out) and w > 1 and same_shape(type(p), out)
select(xori(p, -1), x, y) -> select(p, y, x)
select(p, select(p, a, b), y) -> select(p, a, y)
select(p, x, select(p, a, b)) -> select(p, x, b)

# -- casts of integers

extsi(extsi(x)) -> extsi(x)
extsi(extui(x)) -> extui(x)
extui(extui(x)) -> extui(x)
trunci(trunci(x)) -> trunci[nsw, nuw](x)
trunci(extsi(x)) -> x if type(x) is out
trunci(extsi(x)) -> extsi(x) if width(x) < w
trunci(extsi(x)) -> trunci(x) if width(x) > w
trunci(extui(x)) -> x if type(x) is out
trunci(extui(x)) -> extui(x) if width(x) < w
trunci(extui(x)) -> trunci(x) if width(x) > w
trunci(shrsi(x, c)) -> trunci(shrui[exact](x, c)) if c <= width(x) - w      # no bit that was put in is kept
index_cast(y := index_cast(x)) -> x if type(x) is out and width(y) >= w
index_castui(y := index_castui(x)) -> x if type(x) is out and width(y) >= w
index_cast(extsi(x)) -> index_cast(x) if is_index(out)
index_castui(extui(x)) -> index_castui(x) if is_index(out)
bitcast(x) -> x if type(x) is out
bitcast(bitcast(x)) -> x if type(x) is out
bitcast(bitcast(x)) -> bitcast(x) if type(x) is not out

# -- floating-point numbers

addf(x, -0.0) -> x
addf(x, 0.0) -> x if nsz
subf(x, 0.0) -> x
subf(x, -0.0) -> x if nsz
mulf(x, 1.0) -> x
mulf(x, 0.0) -> 0.0 if nnan and nsz
mulf(x, -0.0) -> -0.0 if nnan and nsz
mulf(negf(x), negf(y)) -> mulf(x, y)
divf(x, 1.0) -> x
divf(negf(x), negf(y)) -> divf(x, y)
negf(negf(x)) -> x

maximumf(x, x) -> x
maximumf(x, -inf) -> x
minimumf(x, x) -> x
minimumf(x, inf) -> x
maxnumf(x, x) -> x
maxnumf(x, nan) -> x
maxnumf(x, -inf) -> x if nnan
minnumf(x, x) -> x
minnumf(x, nan) -> x
minnumf(x, inf) -> x if nnan

cmpf[false](x, y) -> 0
cmpf[true](x, y) -> 1
cmpf[p](x, nan) -> 1 if true_on_nan(p)
cmpf[p](x, nan) -> 0 if not true_on_nan(p)
cmpf[p](nan, x) -> 1 if true_on_nan(p)
cmpf[p](nan, x) -> 0 if not true_on_nan(p)

extf(truncf(x)) -> x if type(x) is out and contract
truncf(extf(x)) -> x if type(x) is out
truncf(extf(x)) -> truncf(x) if width(x) > w
truncf(y := sitofp(x)) -> sitofp(x) if holds(y, width(x)) and to_nearest(root)
truncf(y := uitofp(x)) -> uitofp(x) if holds(y, width(x)) and to_nearest(root)
"""
