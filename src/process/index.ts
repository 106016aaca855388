/** What every process of ours needs: a data directory, an end, and rules for who may reach it. */
export { checkBind, hostPort, isLoopback, listenError } from "./bind.ts";
export { type DataDir, lockDir, openDataDir } from "./data-dir.ts";
export { chooseFreePort } from "./free-port.ts";
export {
  type ChildMessage,
  isSupervised,
  killSelf,
  launchedEnv,
  runStopSteps,
  type StopReason,
  stopRequested,
  supervisedEnv,
  tellSupervisor,
} from "./lifecycle.ts";
export { decideMemoryBytes, machine } from "./memory-share.ts";
export { packageInfo } from "./package-info.ts";
export {
  type ClusterTls,
  type ProcessOptions,
  type ProcessSetup,
  setUpProcess,
} from "./process-setup.ts";
export { RequestGuard } from "./request-guard.ts";
export {
  bearerToken,
  readSecretFile,
  readTokens,
  TokenBook,
} from "./tokens.ts";
