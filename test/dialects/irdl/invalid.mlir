// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{name of dialect should not contain uppercase letters}}
irdl.dialect @Upper

// -----

irdl.dialect @d {
  // expected-error @below {{name of operation should not contain leading or double underscores}}
  irdl.operation @a__b
}

// -----

irdl.dialect @d {
  irdl.type @t {
    %0 = irdl.any
    // expected-error @below {{name of parameter #1 is a duplicate of the name of parameter #0}}
    irdl.parameters(a: %0, a: %0)
  }
}

// -----

irdl.dialect @d {
  // expected-error @below {{contains a value named 'a' for both its operands and results}}
  irdl.operation @op {
    %0 = irdl.any
    irdl.operands(a: %0)
    irdl.results(a: %0)
  }
}

// -----

irdl.dialect @d {
  // expected-error @below {{the operation contains at least two operations of type irdl.operands}}
  irdl.operation @op {
    irdl.operands()
    irdl.operands()
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    %0 = irdl.any
    // expected-error @below {{the number of attribute names and their constraints must be the same but got 1 and 0 respectively}}
    "irdl.attributes"() <{attributeValueNames = ["a"]}> : () -> ()
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    %0 = irdl.any
    // expected-error @below {{the number of results and their variadicities must be the same, but got 1 and 2 respectively}}
    "irdl.results"(%0) <{names = ["a"], variadicity = #irdl<variadicity_array[single, optional]>}> : (!irdl.attribute) -> ()
  }
}

// -----

irdl.dialect @d {
  irdl.operation @op {
    // expected-error @below {{the number of blocks is expected to be >= 1 but got 0}}
    %0 = irdl.region with size 0
  }
}

// -----

irdl.dialect @d {
  irdl.type @t {
    // expected-error @below {{the base type or attribute should be specified by either a name or a reference}}
    %0 = irdl.base
  }
}

// -----

irdl.dialect @d {
  irdl.type @t {
    // expected-error @below {{the base type or attribute name should start with '!' or '#'}}
    %1 = irdl.base "builtin.integer"
  }
}

// -----

irdl.dialect @d {
  irdl.type @t {
    // expected-error @below {{symbol '@d::@nothing' not found}}
    %2 = irdl.base @d::@nothing
  }
}

// -----

irdl.dialect @d {
  irdl.type @t {
    // expected-error @below {{symbol '@d' does not refer to a type or attribute definition (refers to 'irdl.dialect')}}
    %3 = irdl.parametric @d<>
  }
}

// -----

// expected-error @below {{expects parent op 'irdl.dialect'}}
irdl.type @t

// -----

irdl.dialect @d {
  // expected-error @below {{expects parent op to be one of 'irdl.type, irdl.attribute, irdl.operation'}}
  %0 = irdl.any
}

// -----

// expected-error @below {{'irdl.dialect' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
"irdl.dialect"() <{sym_name = "d"}> ({
}) : () -> ()

// -----

irdl.dialect @d {
  irdl.type @t {
    // expected-error @below {{'irdl.any_of' op expected 1 or more operands, but found 0}}
    %0 = "irdl.any_of"() : () -> !irdl.attribute
  }
}
