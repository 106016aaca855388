/**
 * Every function of instant vectors, scalars and strings, by name. Functions that need the
 * expression are elsewhere: `absent`, `info`, and `timestamp` and `start_timestamp` of a selector.
 */
import { clampFunctions } from "./clamp-functions.ts";
import { conversionFunctions } from "./conversion-functions.ts";
import { dateFunctions } from "./date-functions.ts";
import { histogramFunctions } from "./histogram-functions.ts";
import { labelFunctions } from "./label-functions.ts";
import { mathFunctions } from "./math-functions.ts";
import { quantileFunctions } from "./quantile-functions.ts";
import { sortFunctions } from "./sort-functions.ts";
import type { InstantFunction } from "./types.ts";

export const instantFunctions: ReadonlyMap<string, InstantFunction> = new Map([
  ...mathFunctions,
  ...clampFunctions,
  ...conversionFunctions,
  ...dateFunctions,
  ...histogramFunctions,
  ...labelFunctions,
  ...quantileFunctions,
  ...sortFunctions,
]);
