// The help texts of `volley`.
#pragma once

static const char help_main[] =
    R"(volley: spiking networks on CPU and GPU

usage: volley COMMAND [OPTIONS]

commands:
  run NET.toml   simulate a network
  devices        list the GPUs and the device code that each would run
  select         ask the fallback chain about any device and device codes; needs no GPU
  rtc NET.toml   compile a network's user models; needs NVRTC, but no GPU
  info           where this volley looks for its parts

options:
  --help         this text; `volley COMMAND --help` says more
  --version      the version

exit codes: 0 done, 1 failed, 2 wrong arguments or network file,
            3 no device or no device code for the backend that was asked for
)";

static const char help_run[] =
    R"(usage: volley run NET.toml [OPTIONS]

Simulates a network and prints the spikes per population, the rates and the spikes digest.

options:
  --backend auto|cpu|cuda|vulkan   auto takes CUDA where it works, else a GPU by Vulkan, and says why [auto]
  --accumulate fixed|float|none    how synaptic input is summed [fixed]; Vulkan has no float
                                   fixed: integers, the same spikes on every backend
                                   float: float32 atomics; none: gathered, without atomics
  --threads N                      of the CPU backend; 0 = one per core [0]
  --device N                       ordinal of the device, as CUDA or Vulkan counts [0]
  --code TARGET                    use exactly this device code: sm_90, compute_75, vulkan1.1 [the best]
  --seed N                         replaces the network's seed
  --spikes FILE                    write one line per spike: step, population, neuron
  --json                           print the result as JSON
)";

static const char help_devices[] =
    R"(usage: volley devices [OPTIONS]

Lists the GPUs and, for each, every installed device code: taken, usable or refused, and why.

options:
  --accumulate fixed|float|none    which variant of the kernels [fixed]
  --json                           print as JSON
)";

static const char help_select[] =
    R"(usage: volley select --capability 8.7 --driver 13.0 --available "sm_86,sm_80,compute_75@9.0" [--json]

Applies the fallback chain to a device and a list of device codes and prints each step.

options:
  --capability X.Y    of the device
  --driver X.Y        the CUDA release of the driver
  --available LIST    separated by commas: sm_86, cuda12/sm_90a, compute_75@9.0 (PTX with its version);
                      without cuda<major>/ a code belongs to the driver's CUDA major
  --json              print as JSON
)";

static const char help_rtc[] =
    R"(usage: volley rtc NET.toml --arch sm_90 -o DIR [--accumulate fixed|float|none]

Compiles the user model of each population to DIR/<population>.cubin, and leaves the generated
source beside it. Needs NVRTC, but no GPU.

options:
  --arch sm_XX                     the architecture
  -o, --output DIR                 an existing directory
  --accumulate fixed|float|none    which variant [fixed]
)";

static const char help_info[] =
    R"(usage: volley info [--json]

Prints the version, the kernel ABI tag, where kernels are looked for, and where the runtime compiler is.
)";
