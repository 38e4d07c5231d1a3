// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{"llvm.noalias" should be a unit attribute}}
llvm.func @value(!llvm.ptr {llvm.noalias = 1 : i32})

// -----

// expected-error @below {{"llvm.align" should be an integer attribute}}
llvm.func @number(!llvm.ptr {llvm.align})

// -----

// expected-error @below {{"llvm.byval" should be a type attribute}}
llvm.func @type(!llvm.ptr {llvm.byval})

// -----

// expected-error @below {{"llvm.sret" attribute attached to non-pointer LLVM type}}
llvm.func @pointer(i32 {llvm.sret = i32})

// -----

// expected-error @below {{"llvm.signext" attribute attached to non-integer LLVM type}}
llvm.func @integer(f32 {llvm.signext})

// -----

// expected-error @below {{"llvm.returned" is not a valid result attribute}}
llvm.func @result() -> (i32 {llvm.returned})

// -----

// A type that LLVM does not have is not checked.
func.func private @not_lowered(memref<4xf32> {llvm.noalias})

// expected-error @below {{"llvm.noalias" attribute attached to non-pointer LLVM type}}
func.func private @other_function(i32 {llvm.noalias})

// -----

// expected-error @below {{expects argument attribute array to have the same number of elements as the number of function arguments, got 2, but expected 1}}
"llvm.func"() <{function_type = !llvm.func<void (i32)>, sym_name = "f", arg_attrs = [{}, {}]}> ({}) : () -> ()

// -----

// expected-error @below {{expects result attribute dictionary to be a DictionaryAttr, but got `1 : i64`}}
"llvm.func"() <{function_type = !llvm.func<i32 ()>, sym_name = "f", res_attrs = [1]}> ({}) : () -> ()
