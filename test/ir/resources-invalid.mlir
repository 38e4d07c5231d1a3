// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{unknown key 'blobs' in file metadata dictionary}}
{-#
  blobs: {}
#-}

// -----

// expected-error @+4 {{expected hex string blob for key 'b'}}
{-#
  dialect_resources: {
    builtin: {
      b: "04"
    }
  }
#-}

// -----

// expected-error @+3 {{dialect 'nobody' is unknown}}
{-#
  dialect_resources: {
    nobody: {}
  }
#-}

// -----

// expected-error @+4 {{expected identifier key for 'resource' entry}}
{-#
  dialect_resources: {
    builtin: {
#-}
