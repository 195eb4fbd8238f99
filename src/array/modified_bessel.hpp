// √x e⁻ˣ I₀(x) and √x e⁻ˣ I₁(x) for x ≥ 8: polynomials in t = 16 / x - 1. Made by
// tools/bessel_coefficients.py.
#pragma once

namespace apsis::detail::arrays::modified_bessel {

constexpr double i0_far[] = {
    0x1.9bd428ad249a5p-2,   0x1.b87969bb93b86p-9,  0x1.1daa72b5cffa0p-13,  0x1.75e5ee7193c9bp-17,
    0x1.8e513c2fbb4d7p-20,  0x1.3f49a7d62b2a7p-22, 0x1.7d0d0cb6d579cp-24,  0x1.51ce71adfb8dcp-25,
    0x1.7281608082bb2p-26,  0x1.0393c5c549066p-27, -0x1.d6aed4e999c8ap-28, -0x1.ccba1604bc157p-27,
    -0x1.5a374e8067293p-28, 0x1.03813921d363bp-27, 0x1.c2cf2e6a86796p-28,  -0x1.e1db3b1fc3ea5p-29,
    -0x1.3a6dfcb29fb62p-28, 0x1.a1d63d6d82361p-30, 0x1.2df0453a22419p-29,  -0x1.3a3b59d669597p-31,
    -0x1.6cab377ea12d0p-31, 0x1.4ffe43b34b0cep-33, 0x1.9be1812d98421p-34,  -0x1.646da66119130p-36};

constexpr double i1_far[] = {
    0x1.8ebe783a84030p-2,   -0x1.3f796198ee62dp-7,  -0x1.cbc54df1d5adep-13, -0x1.f89c230615615p-17,
    -0x1.ec8e123ea3305p-20, -0x1.76137f7ae6917p-22, -0x1.ad8b35adc406dp-24, -0x1.727a1058f659fp-25,
    -0x1.91e151ca6bf60p-26, -0x1.21936a1ea1c23p-27, 0x1.d60cff70f4ce9p-28,  0x1.e236784650fb0p-27,
    0x1.805f9b8194527p-28,  -0x1.069735b018307p-27, -0x1.dfed018844927p-28, 0x1.d6e5e5ac6b3a2p-29,
    0x1.4a94ecae55871p-28,  -0x1.8b794674af087p-30, -0x1.3bb2a62cd1582p-29, 0x1.23214d692a960p-31,
    0x1.7c45609d3fdd4p-31,  -0x1.341e6ffaf59fap-33, -0x1.acea3b2532277p-34, 0x1.45b8aea87b950p-36};

}  // namespace apsis::detail::arrays::modified_bessel
