// A rule of 36 points on [0, 1] for functions that fall off from 0: Gauss and Legendre's in the root of the
// variable, whose points are closer there. Exact for polynomials of degree 35. Made by
// tools/gauss_legendre.py.
#pragma once

namespace apsis::detail::arrays::gauss_legendre {

constexpr double nodes[] = {
    0x1.3bdfce7b53a4ep-20, 0x1.1131595786c9ep-15, 0x1.9a3aab9f75836p-13, 0x1.5eb50fc6d29b8p-11,
    0x1.be141650123cap-10, 0x1.d86953759bf88p-9,  0x1.b97c5b0697aeap-8,  0x1.78a5eadb1c9dap-7,
    0x1.2bbab5feee84dp-6,  0x1.c379614ac98f3p-6,  0x1.451dd85100ab6p-5,  0x1.c318322f24b62p-5,
    0x1.2f30a80a5f366p-4,  0x1.8c9621d2f9790p-4,  0x1.fa860d83017b1p-4,  0x1.3cb6a0f252a8ep-3,
    0x1.84a8db657e55ep-3,  0x1.d4e5983d6f13fp-3,  0x1.167fc28d06d00p-2,  0x1.4627d3617327ap-2,
    0x1.78fb4ad1d51c8p-2,  0x1.ae6fb4619e149p-2,  0x1.e5e2200ea5e0ep-2,  0x1.0f4d14bad4a85p-1,
    0x1.2be6d6b45117ap-1,  0x1.48528a991d04bp-1,  0x1.64200d1bfb5a6p-1,  0x1.7edd707d870c5p-1,
    0x1.9819a3dd4a0a0p-1,  0x1.af6721a36ce4fp-1,  0x1.c45e91fea8d56p-1,  0x1.d6a14eba8d2cdp-1,
    0x1.e5dbb6a34bebfp-1,  0x1.f1c740ba74c44p-1,  0x1.fa2c468db3995p-1,  0x1.fee3c9e29e85cp-1};
constexpr double weights[] = {
    0x1.952bc886b8fe9p-18, 0x1.352798cd3f152p-14, 0x1.27f9128ba619cp-12, 0x1.722ad4bd5941cp-11,
    0x1.71fa9dc825e15p-10, 0x1.41a5e5c4401d2p-9,  0x1.fc26b87a3f937p-9,  0x1.761c2b6ad8754p-8,
    0x1.04defe4b6f5ebp-7,  0x1.5c57a84c4eafbp-7,  0x1.c0c37f806af25p-7,  0x1.186ff09ece0b6p-6,
    0x1.5571348b2b4a1p-6,  0x1.9641cd3f34552p-6,  0x1.d986ce171eddep-6,  0x1.0edba6a386853p-5,
    0x1.3093928471b7ap-5,  0x1.51097a80b4cb0p-5,  0x1.6f56851f86fdep-5,  0x1.8a95667ddfc8ep-5,
    0x1.a1e92776d433bp-5,  0x1.b483c9c90220dp-5,  0x1.c1ac96c287587p-5,  0x1.c8c5e84f33d1cp-5,
    0x1.c95240040cabbp-5,  0x1.c2f884d3f910ep-5,  0x1.b5874655f497cp-5,  0x1.a0f6ebbf6dfd5p-5,
    0x1.856abcb9a9e1cp-5,  0x1.6330bad26c971p-5,  0x1.3ac04b510feeep-5,  0x1.0cb7badc4e319p-5,
    0x1.b3b160fe10e03p-6,  0x1.460784c1d15d5p-6,  0x1.a4d08265aeb76p-7,  0x1.6c5bfcfda5bbdp-8};

}  // namespace apsis::detail::arrays::gauss_legendre
