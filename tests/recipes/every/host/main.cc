#include <cstdio>
#include <cstring>

#include "every.h"

int main(int count, char **words) {
  const bool note = count > 1 && std::strcmp(words[1], "--note") == 0;
  std::puts(note ? every_note() : every_abi());
}
