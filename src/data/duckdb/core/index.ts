export {
  decideVictim,
  duckdbBytesOf,
  engineKeepsBytes,
  kernelBytesOf,
  type MemoryLimits,
  type MemoryUse,
  rowBytesOf,
} from "./engine-memory.ts";
export { type EngineObserver, silentEngineObserver } from "./engine-observer.ts";
