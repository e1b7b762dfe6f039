// A cycle of every cell, in integers: the same bits on every device.
struct Cell { potential: i32, arriving: i32, fired: u32, rest: u32, spikes: u32 }
struct Step { count: u32, drive: i32, weight: i32, cycle: u32 }

// What the variants fill in.
override LEAK: u32 = 4u;
override KEEP_REST = true;

@group(0) @binding(0) var<storage, read_write> cells: array<Cell>;
@group(0) @binding(1) var<uniform> now: Step;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= now.count) { return; }
    let cell = cells[i];
    let drive = now.drive + i32((i * 37u + now.cycle * 11u) % 200u);
    let next = cell.potential - (cell.potential >> LEAK) + drive + cell.arriving;
    cells[i].arriving = 0;
    cells[i].fired = 0u;
    if (KEEP_REST && cell.rest > 0u) {
        cells[i].rest = cell.rest - 1u;
    } else if (next >= 6000) {
        cells[i].potential = 0;
        cells[i].fired = 1u;
        cells[i].rest = 2u;
        cells[i].spikes = cell.spikes + 1u;
    } else {
        cells[i].potential = next;
    }
}
