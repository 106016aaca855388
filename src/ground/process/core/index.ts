export {
  type CpuShares,
  decideMemory,
  duckdbBytesOf,
  engineBaseBytes,
  engineKeepsBytes,
  type MemoryShares,
  type Shares,
} from "./decide-shares.ts";
export { heldPages, MemoryBudget, type MemoryPlace, pageBytes } from "./memory-budget.ts";
