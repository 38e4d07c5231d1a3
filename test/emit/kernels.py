"""LLVM IR of realistic kernels, for the tests of the way from LLVM IR to SASS and for benchmarks."""

from __future__ import annotations

HEADER = 'target triple = "nvptx64-nvidia-cuda"\n'

VECTOR_ADD = (
    HEADER
    + """
define ptx_kernel void @vector_add(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %n) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %base = mul i32 %block, 128
  %i = add i32 %base, %thread
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %done
work:
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr float, ptr addrspace(1) %c, i32 %i
  %va = load float, ptr addrspace(1) %pa
  %vb = load float, ptr addrspace(1) %pb
  %sum = fadd float %va, %vb
  store float %sum, ptr addrspace(1) %pc
  br label %done
done:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
)

ABORTS = (
    HEADER
    + """
declare i32 @llvm.x86.sse42.crc32.32.8(i32, i8)
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %v = call i32 @llvm.x86.sse42.crc32.32.8(i32 1, i8 2)
  store i32 %v, ptr addrspace(1) %p
  ret void
}
"""
)
"""Valid LLVM IR on which NVPTX's instruction selection has no choice but to end the process."""

FRAGMENT = "{ float, float, float, float }"
MMA = "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
LDMATRIX = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"


def gemm(
    m_tiles: int = 4, n_tiles: int = 8, k_steps: int = 4, *, copies: int = 8, locations: bool = False
) -> str:
    """A GEMM's warp, unrolled as a tile compiler emits it: cp.async, ldmatrix, mma.sync, stores at the end.

    `m_tiles` × `n_tiles` accumulators of m16n8 in a loop over K, each iteration `k_steps` of 16. With
    `locations`, each instruction has one (line 100 + its number) in `gemm.mlir`.
    """
    lines: list[str] = []
    name_count = 0

    def new(text: str) -> str:
        nonlocal name_count
        name_count += 1
        lines.append(f"  %v{name_count} = {text}")
        return f"%v{name_count}"

    def shared(offset: str) -> str:
        return new(f"getelementptr i8, ptr addrspace(3) @smem, i32 {offset}")

    accumulators = [(m, n, i) for m in range(m_tiles) for n in range(n_tiles) for i in range(4)]
    lines += ["entry:", "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"]
    lines += ["  %row = and i32 %tid, 15", "  %rowoff = mul i32 %row, 128", "  br label %loop", "loop:"]
    lines.append("  %k = phi i32 [ 0, %entry ], [ %knext, %loop ]")
    lines += [
        f"  %acc{m}_{n}_{i} = phi float [ 0.0, %entry ], [ %out{m}_{n}_{i}, %loop ]"
        for m, n, i in accumulators
    ]
    lines += ["  %stage = and i32 %k, 1", "  %stageoff = mul i32 %stage, 32768"]
    for copy in range(copies):
        offset = new(f"add i32 %stageoff, {copy * 2048}")
        offset = new(f"add i32 {offset}, %rowoff")
        column = new(f"add i32 %tid, {copy * 64}")
        wide = new(f"sext i32 {column} to i64")
        row = new(f"mul i64 {wide}, %lda")
        source = new(f"getelementptr half, ptr addrspace(1) %a, i64 {row}")
        target = shared(offset)
        lines.append(
            f"  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) {target}, ptr addrspace(1) {source})"
        )
    lines += [
        "  call void @llvm.nvvm.cp.async.commit.group()",
        "  call void @llvm.nvvm.cp.async.wait.group(i32 1)",
    ]
    lines.append("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")
    current = {(m, n): [f"%acc{m}_{n}_{i}" for i in range(4)] for m in range(m_tiles) for n in range(n_tiles)}

    def load_matrix(base: int) -> list[str]:
        offset = new(f"xor i32 %rowoff, {base % 128}")
        offset = new(f"add i32 {offset}, {base - base % 128}")
        offset = new(f"add i32 {offset}, %stageoff")
        result = new(f"call {{ i32, i32, i32, i32 }} @{LDMATRIX}(ptr addrspace(3) {shared(offset)})")
        words = [new(f"extractvalue {{ i32, i32, i32, i32 }} {result}, {i}") for i in range(4)]
        return [new(f"bitcast i32 {word} to <2 x half>") for word in words]

    for step in range(k_steps):
        a = [load_matrix(step * 32 + m * 2048) for m in range(m_tiles)]
        b = [load_matrix(16384 + step * 32 + n * 2048) for n in range((n_tiles + 1) // 2)]
        for m in range(m_tiles):
            for n in range(n_tiles):
                pair = b[n // 2][(n % 2) * 2 : (n % 2) * 2 + 2]
                arguments = [f"<2 x half> {x}" for x in (*a[m], *pair)] + [
                    f"float {x}" for x in current[m, n]
                ]
                result = new(f"call {FRAGMENT} @{MMA}({', '.join(arguments)})")
                current[m, n] = [new(f"extractvalue {FRAGMENT} {result}, {i}") for i in range(4)]
    lines += [f"  %out{m}_{n}_{i} = fadd float {current[m, n][i]}, 0.0" for m, n, i in accumulators]
    lines += ["  %knext = add i32 %k, 1", "  %more = icmp slt i32 %knext, %ktiles"]
    lines += ["  br i1 %more, label %loop, label %finish", "finish:"]
    for m, n, i in accumulators:
        index = new(f"add i32 %tid, {(m * n_tiles + n) * 256 + i * 32}")
        target = new(f"getelementptr float, ptr addrspace(1) %c, i32 {index}")
        lines.append(f"  store float %out{m}_{n}_{i}, ptr addrspace(1) {target}")
    lines.append("  ret void")
    attachment = ""
    if locations:
        lines = [
            line if line.endswith(":") else f"{line}, !dbg !{100 + number}"
            for number, line in enumerate(lines)
        ]
        attachment = " !dbg !4"
    half = "<2 x half>"
    mma_parameters = ", ".join([half] * 6 + ["float"] * 4)
    return "\n".join(
        [
            HEADER,
            "@smem = external addrspace(3) global [0 x i8], align 128",
            "define ptx_kernel void @gemm(ptr addrspace(1) %a, ptr addrspace(1) %c, i64 %lda, i32 %ktiles) "
            f"#0{attachment} {{",
            *lines,
            "}",
            'attributes #0 = { "nvvm.maxntid"="128" }',
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
            "declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))",
            "declare void @llvm.nvvm.cp.async.commit.group()",
            "declare void @llvm.nvvm.cp.async.wait.group(i32)",
            f"declare {{ i32, i32, i32, i32 }} @{LDMATRIX}(ptr addrspace(3))",
            f"declare {FRAGMENT} @{MMA}({mma_parameters})",
            *(_debug_info(lines) if locations else []),
            "",
        ]
    )


def _debug_info(lines: list[str]) -> list[str]:
    return [
        "!llvm.dbg.cu = !{!0}",
        "!llvm.module.flags = !{!2}",
        "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)",
        '!1 = !DIFile(filename: "gemm.mlir", directory: "/src")',
        '!2 = !{i32 2, !"Debug Info Version", i32 3}',
        '!4 = distinct !DISubprogram(name: "gemm", scope: !1, file: !1, line: 1, type: !5, unit: !0, '
        "spFlags: DISPFlagDefinition)",
        "!5 = !DISubroutineType(types: !6)",
        "!6 = !{}",
        *(f"!{100 + i} = !DILocation(line: {100 + i}, column: 7, scope: !4)" for i in range(len(lines))),
    ]
