// Asks the chain of `simpack init`'s sample: each line names a device, a driver and kernels ("90 13000 13,sm_90,0"), each
// answer is the kernel that runs, or "cpu".
#include <iostream>
#include <sstream>

#include "chain.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int device = 0, driver = 0;
    words >> device >> driver;
    std::vector<Code> available;
    for (std::string word; words >> word;) {
      Code code;
      const size_t first = word.find(','), second = word.rfind(',');
      code.cuda = std::stoi(word.substr(0, first));
      code.isa = std::stoi(word.substr(second + 1));
      const std::string target = word.substr(first + 1, second - first - 1);
      if (!parse(target, &code)) return 1;
      code.path = "cuda" + std::to_string(code.cuda) + "/" + target;
      available.push_back(code);
    }
    const Code *best = choose(available, device, driver);
    std::cout << (best ? best->path : "cpu") << "\n";
  }
}
