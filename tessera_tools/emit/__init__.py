"""From IR to text, LLVM IR, MIR, PTX, cubin and SASS. Import the modules themselves: each is used alone."""
