// RUN: tail -n +4 %s > %t
// RUN: tessera-opt %s | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -
module {
  func.func @poison() -> vector<4xf32> {
    %0 = ub.poison : i32
    %1 = ub.poison {foo} : vector<4xf32>
    return %1 : vector<4xf32>
  }
  func.func @unreachable() {
    ub.unreachable
  }
}
