export {
  decideMemory,
  duckdbBytesOf,
  engineBaseBytes,
  engineKeepsBytes,
  type MemoryShares,
} from "./decide-shares.ts";
export {
  heldPages,
  MemoryBudget,
  type MemoryPlace,
  type MemoryReservation,
  pageBytes,
} from "./memory-budget.ts";
