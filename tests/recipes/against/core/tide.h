#pragma once

// Metres above the lowest water, so many hours after it.
extern "C" double tide_height(double hours);
