{
  description = "simpack, and the simulator that it packages as its example";

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
      overlays.default =
        final: prev:
        import ./volley/overlay.nix final prev
        // {
          simpack = final.callPackage ./simpack.nix { };
        };
      packages.${system} = {
        default = pkgs.simpack;
        inherit (pkgs) simpack volley;
      };
    };
}
