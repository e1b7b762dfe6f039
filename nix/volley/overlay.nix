# Written by `simpack generate nix`. Adds volley.
final: _prev: {
  # Built by the CUDA release that the recipe begins with, where nixpkgs has it. Its kernels for each target are `passthru`.
  volley = final.callPackage ./package.nix {
    cudaPackages = final.cudaPackages_13_0 or final.cudaPackages;
  };
}
