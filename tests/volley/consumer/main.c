/* A program that uses an installed volley through its C header. Prints the number of spikes and their digest. */
#include <stdio.h>
#include <string.h>
#include <volley/volley.h>

static const char network_text[] =
    "[simulation]\n"
    "duration = 50.0\n"
    "[[population]]\n"
    "name = \"cells\"\n"
    "size = 10\n"
    "current = 30.0\n"
    "v_init = [-65.0, -50.0]\n";

int main(void) {
  volley_network *network = NULL;
  volley_result *result = NULL;
  volley_run_options options;
  size_t spikes = 0;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.backend = VOLLEY_BACKEND_CPU;
  options.threads = 1;
  if (volley_network_parse(network_text, "example", &network) != VOLLEY_OK ||
      volley_run(network, &options, &result) != VOLLEY_OK) {
    fprintf(stderr, "%s\n", volley_last_error());
    return 1;
  }
  volley_result_spikes(result, &spikes);
  printf("volley %s: %zu spikes, %s\n", volley_version(), spikes, volley_result_digest(result));
  volley_result_free(result);
  volley_network_free(network);
  return spikes > 0 ? 0 : 1;
}
