# Written by `simpack generate nix`. Adds volley, and a set with one package a capability.
final: _prev: {
  volley = final.callPackage ./package.nix { };

  volleyForCapability = {
    sm_75 = final.volley.override { cudaCapabilities = [ "7.5" ]; };
    sm_80 = final.volley.override { cudaCapabilities = [ "8.0" ]; };
    sm_86 = final.volley.override { cudaCapabilities = [ "8.6" ]; };
    sm_89 = final.volley.override { cudaCapabilities = [ "8.9" ]; };
    sm_90 = final.volley.override { cudaCapabilities = [ "9.0" ]; };
    sm_100 = final.volley.override { cudaCapabilities = [ "10.0" ]; };
    sm_120 = final.volley.override { cudaCapabilities = [ "12.0" ]; };
  };
}
