"""From IR to text, LLVM IR, MIR, PTX, cubin and SASS. Import the modules directly; each can be used alone."""
