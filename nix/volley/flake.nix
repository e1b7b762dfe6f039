# Written by `simpack generate nix`: change the recipe of volley or the template, not this file.
{
  description = "spiking networks on CPU and GPU";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      system = "x86_64-linux";
      pkgs = import nixpkgs {
        inherit system;
        config = {
          allowUnfree = true;
          cudaSupport = true;
        };
        overlays = [ self.overlays.default ];
      };
    in
    {
      overlays.default = import ./overlay.nix;
      packages.${system} = {
        default = pkgs.volley;
        volley = pkgs.volley;
      };
      checks.${system}.default = self.packages.${system}.default;
    };
}
