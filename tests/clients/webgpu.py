"""Runs the packaged shaders of tests/recipes/webgpu by WebGPU, as a simulator would: wgpu-py, which carries wgpu-native.

webgpu.py DIRECTORY CELLS CYCLES

DIRECTORY holds integrate.wgsl and deliver.wgsl. The device is one of software where there is no other, and has WebGPU's
default limits and none of its features. Prints all cells as JSON, as the host program does.
"""

import json
import pathlib
import struct
import sys

import wgpu

directory, count, cycles = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
CELL = struct.Struct("<iiIII")

adapter = next(it for it in wgpu.gpu.enumerate_adapters_sync() if it.info["backend_type"] == "Vulkan")
device = adapter.request_device_sync(required_features=[], required_limits={})
cells = device.create_buffer_with_data(
    data=bytes(CELL.size * count), usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
)
step = device.create_buffer(size=16, usage=wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST)
passes = []
for name in ("integrate", "deliver"):
    module = device.create_shader_module(code=(directory / f"{name}.wgsl").read_text())
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    group = device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[
            {"binding": 0, "resource": {"buffer": cells, "offset": 0, "size": cells.size}},
            {"binding": 1, "resource": {"buffer": step, "offset": 0, "size": step.size}},
        ],
    )
    passes.append((pipeline, group))
for cycle in range(cycles):
    device.queue.write_buffer(step, 0, struct.pack("<IiiI", count, 900, 350, cycle))
    encoder = device.create_command_encoder()
    for pipeline, group in passes:
        run = encoder.begin_compute_pass()
        run.set_pipeline(pipeline)
        run.set_bind_group(0, group)
        run.dispatch_workgroups((count + 63) // 64)
        run.end()
    device.queue.submit([encoder.finish()])
found = CELL.iter_unpack(bytes(device.queue.read_buffer(cells)))
print(json.dumps([[potential, fired, rest, spikes] for potential, _, fired, rest, spikes in found]))
