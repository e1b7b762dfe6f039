{
  description = "A stand-in for nixpkgs";
  outputs = { self }: { };
}
