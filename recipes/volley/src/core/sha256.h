// SHA-256 (FIPS 180-4), for the spikes digest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace volley {

class Sha256 {
 public:
  void add(const std::string &bytes);
  std::string hex();  // ends the message

 private:
  void block(const unsigned char *p);
  uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char pending_[64];
  size_t used_ = 0;
  uint64_t length_ = 0;
};

}  // namespace volley
