/** What every process needs: a data directory, a way to stop, and rules for who may reach it. */
export { checkBind, hostPort, isLoopback, listenError } from "./bind.ts";
export { decideControllerShares, decideMemory, decideWorkerShares } from "./core/decide-shares.ts";
export { MemoryBudget } from "./core/memory-budget.ts";
export { type DataDir, lockDir, openDataDir } from "./data-dir.ts";
export { tryLockFile } from "./file-lock.ts";
export { chooseFreePort } from "./free-port.ts";
export { gzipAnswer, gzipSettings, takesGzip } from "./gzip.ts";
export {
  type ChildMessage,
  isSupervised,
  type Lifetime,
  launchedEnv,
  processLifetime,
  runStopSteps,
  type StopReason,
  stopRequested,
  supervisedEnv,
  tellSupervisor,
} from "./lifecycle.ts";
export { type Limits, parseLimits, usualLimits } from "./limits.ts";
export { machine } from "./machine.ts";
export {
  decideLoadWorkerBytes,
  decideMemoryBytes,
  parseBytes,
} from "./memory-share.ts";
export { openProcess, type ProcessContext } from "./open-process.ts";
export { packageInfo } from "./package-info.ts";
export { closing, type Part, stopStep, stopStepsOf } from "./part.ts";
export {
  type ProcessOptions,
  setUpProcess,
} from "./process-setup.ts";
export { guardedRequestOf, hasOneHost, RequestGuard } from "./request-guard.ts";
export { RoomWatch } from "./room-watch.ts";
export { bearerToken, readSecretFile, readTokens, TokenBook } from "./tokens.ts";
export { type DirectoryWatch, type WatchedPlace, watchDirectories } from "./watch-directories.ts";
