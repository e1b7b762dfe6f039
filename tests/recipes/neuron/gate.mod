: A conductance with one gate, which relaxes towards a sigmoid of the voltage.
NEURON {
    SUFFIX gate
    NONSPECIFIC_CURRENT i
    RANGE g, e, tau
}

PARAMETER {
    g = 0.001 (S/cm2)
    e = -50 (mV)
    tau = 3 (ms)
}

ASSIGNED {
    v (mV)
    i (mA/cm2)
}

STATE { n }

INITIAL { n = 1 / (1 + exp(-(v + 60) / 7)) }

BREAKPOINT {
    SOLVE states METHOD cnexp
    i = g * n * (v - e)
}

DERIVATIVE states { n' = (1 / (1 + exp(-(v + 60) / 7)) - n) / tau }
