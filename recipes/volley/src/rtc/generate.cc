#include "generate.h"

#include <cstdio>

namespace volley {

namespace {

std::string literal(float value) {  // hexadecimal: exact, and independent of the locale's decimal point
  char text[64];
  std::snprintf(text, sizeof text, "%af", static_cast<double>(value));
  return text;
}

std::string part(const char *name, const char *code) {
  return std::string("\n#line 1 \"") + name + "\"\n" + code + "\n";
}

}  // namespace

std::string generate_source(const volley_rtc_model &m) {
  std::string s = "#include \"volley_device.cuh\"\n\nextern \"C\" __global__ void " VOLLEY_RTC_KERNEL
                  "(\n"
                  "    float *volley_state, void *volley_ring, vu32 *volley_bits, vu32 *volley_list,\n"
                  "    vu32 *volley_count, vu64 volley_drive_key, vu32 volley_first, vu32 volley_size,\n"
                  "    vu32 volley_slot, vu32 volley_stride, vu32 volley_step, VolleyDrive volley_drive) {\n"
                  "  const vu32 volley_i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "  const vu32 volley_n = volley_first + volley_i;\n"
                  "  bool volley_spiked = false;\n"
                  "  if (volley_i < volley_size) {\n"
                  "    float in_exc, in_inh;\n"
                  "    volley_input(volley_ring, volley_slot, volley_stride, volley_n, &in_exc, &in_inh);\n"
                  "    volley_drive_add(&volley_drive,\n"
                  "                     volley_drive_count(&volley_drive, volley_drive_key, volley_step, volley_i),\n"
                  "                     &in_exc, &in_inh);\n";
  s += "    const float dt = " + literal(static_cast<float>(m.dt)) + ";\n    (void)dt;\n";
  for (size_t i = 0; i < m.parameters; ++i)
    s += std::string("    const float ") + m.parameter_names[i] + " = " + literal(m.parameter_values[i]) + "; (void)" +
         m.parameter_names[i] + ";\n";
  const auto cell = [&](size_t i) { return "volley_state[" + std::to_string(i) + "ull * volley_stride + volley_n]"; };
  for (size_t i = 0; i < m.states; ++i) s += std::string("    float ") + m.state_names[i] + " = " + cell(i) + ";\n";
  s += "    {" + part("update", m.update) + "    }\n";
  s += "    volley_spiked = (" + part("threshold", m.threshold) + "    );\n";
  s += "    if (volley_spiked) {" + part("reset", m.reset) + "    }\n";
  s += "#line 1000 \"" VOLLEY_RTC_KERNEL "\"\n";
  for (size_t i = 0; i < m.states; ++i) s += "    " + cell(i) + " = " + m.state_names[i] + ";\n";
  s += "  }\n"
       "  volley_publish(volley_spiked, volley_i < volley_size, volley_n, volley_bits, volley_list, volley_count);\n"
       "}\n";
  return s;
}

}  // namespace volley
