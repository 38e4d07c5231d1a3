// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Errors whose words or places differ from upstream's.

irdl.dialect @d {
  // expected-error @below {{'irdl.type' op name of type must contain only lowercase letters, digits and underscores}}
  irdl.type @"a-b" {
  }
}
