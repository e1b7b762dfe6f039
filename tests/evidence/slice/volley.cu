// volley's own kernels in one library, as a simulator would ship that is built fat: its network runs for some steps, and
// what it leaves is compared. Offers the functions that runner.c calls.
#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

#define ACCUMULATE_FIXED
#include "neuron.cu"
#include "synapse.cu"

extern "C" const char *error_text(int error) { return error == 999 ? "no neuron spiked" : cudaGetErrorString((cudaError_t)error); }

extern "C" int host_answer(int x) {
    try {
        if (x < 0) throw std::runtime_error("negative");
        return x + 1;
    } catch (const std::exception &) {
        return 7;
    }
}

__global__ void made_for(int *x) {
#ifdef __CUDA_ARCH__
    *x = __CUDA_ARCH__;
#endif
}

// Device memory that is freed in the end; all zeros, or a copy.
template <typename T>
struct Device {
    T *data = nullptr;
    size_t size;
    cudaError_t error;
    explicit Device(size_t count) : size(count * sizeof(T)), error(cudaMalloc(&data, size)) {
        if (!error) error = cudaMemset(data, 0, size);
    }
    explicit Device(const std::vector<T> &from) : Device(from.size()) {
        if (!error) error = cudaMemcpy(data, from.data(), size, cudaMemcpyHostToDevice);
    }
    ~Device() { cudaFree(data); }
    cudaError_t read(void *to) { return error ? error : cudaMemcpy(to, data, size, cudaMemcpyDeviceToHost); }
};

extern "C" int run_scale(float *host, int n) {
    Device<float> state(n);
    if (state.error) return state.error;
    volley_neuron_init<<<(n + 255) / 256, 256>>>(state.data, 42, 0, n, -65.0f, 15.0f);
    if (cudaError_t error = cudaGetLastError()) return error;
    return state.read(host);
}

extern "C" int run_waves(double *host, int) {
    const vu32 neurons = 4096, peers = 16, slots = 16, steps = 400;
    std::vector<vu64> offsets;
    std::vector<vu32> peer, delay;
    std::vector<float> weight;
    for (vu32 i = 0; i <= neurons; i++) offsets.push_back((vu64)i * peers);
    for (vu32 i = 0; i < neurons * peers; i++) {
        peer.push_back((i * 2654435761u >> 7) % neurons);
        delay.push_back(1 + i % (slots - 1));
        weight.push_back(i % 5 == 0 ? -4.0f : 1.5f);
    }
    Device<vu64> d_offsets(offsets);
    Device<vu32> d_peer(peer), d_delay(delay), hold(neurons), bits(neurons / 32 * slots), list(neurons), count(steps);
    Device<float> d_weight(weight), v(neurons), exc(neurons), inh(neurons);
    Device<vu64> ring((size_t)slots * 2 * neurons);
    if (ring.error) return ring.error;
    VolleyLif p = {};
    p.v_rest = -49.0f, p.v_reset = -60.0f, p.v_threshold = -50.0f;
    p.decay_m = 0.995f, p.decay_exc = 0.98f, p.decay_inh = 0.99f, p.refractory = 50;
    volley_neuron_init<<<neurons / 128, 128>>>(v.data, 7, 0, neurons, -60.0f, 10.0f);
    for (vu32 step = 0; step < steps; step++) {
        vu32 *own_bits = bits.data + step % slots * (neurons / 32);
        volley_neuron_update<<<neurons / 128, 128>>>(v.data, exc.data, inh.data, hold.data, ring.data, own_bits, list.data,
                                                     count.data + step, 9, 0, neurons, step % slots, neurons, step, p);
        volley_synapse_deliver<<<64, VOLLEY_BLOCK>>>(d_offsets.data, d_peer.data, d_weight.data, d_delay.data, bits.data,
                                                     list.data, count.data + step, ring.data, neurons, neurons, slots,
                                                     slots, step);
        if (cudaError_t error = cudaGetLastError()) return error;
    }
    if (cudaError_t error = v.read(host)) return error;
    std::vector<vu32> spikes(steps);
    if (cudaError_t error = count.read(spikes.data())) return error;
    vu64 all = 0;
    for (vu32 one : spikes) all += one;
    host[neurons] = (double)all;
    return all > 0 ? 0 : 999;
}

extern "C" int run_which(int *host) {
    Device<int> x(1);
    if (x.error) return x.error;
    made_for<<<1, 1>>>(x.data);
    if (cudaError_t error = cudaGetLastError()) return error;
    return x.read(host);
}
