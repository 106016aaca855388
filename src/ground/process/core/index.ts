export {
  decideMemory,
  duckdbBytesOf,
  engineBaseBytes,
  engineKeepsBytes,
  type MemoryShares,
} from "./decide-shares.ts";
export { heldPages, MemoryBudget, type MemoryPlace, pageBytes } from "./memory-budget.ts";
