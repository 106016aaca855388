export {
  decideVictim,
  kernelBytesOf,
  type MemoryLimits,
  rowBytesOf,
} from "./engine-memory.ts";
export { type EngineObserver, silentEngineObserver } from "./engine-observer.ts";
