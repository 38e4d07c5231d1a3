// RUN: tessera-opt %s --split-input-file --verify-diagnostics

{-#
  // expected-error @below {{expected hex string blob for key 'a'}}
  external_resources: { tool: { a: "0x12" } }
#-}

// -----

{-#
  // expected-error @below {{expected string value for key 'a', or true or false}}
  external_resources: { tool: { a: 1 } }
#-}

// -----

{-#
  // expected-error @below {{expected identifier key for 'resource' entry}}
  external_resources: { "tool": { a: true } }
#-}
