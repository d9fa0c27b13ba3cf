//! Network service entities and their NS-VCs (08.16 [48.016]).
