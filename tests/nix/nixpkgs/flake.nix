{
  description = "A stand-in for nixpkgs";
  outputs = _: { };
}
