// Every cell hears its left neighbour.
struct Cell { potential: i32, arriving: i32, fired: u32, rest: u32, spikes: u32 }
struct Step { count: u32, drive: i32, weight: i32, cycle: u32 }

@group(0) @binding(0) var<storage, read_write> cells: array<Cell>;
@group(0) @binding(1) var<uniform> now: Step;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= now.count) { return; }
    let left = (i + now.count - 1u) % now.count;
    cells[i].arriving += select(0, now.weight, cells[left].fired == 1u);
}
