func.func @f(%a: i32) -> i32 {
  %0 = toy.twice %a : i32
  return %0 : i32
}
