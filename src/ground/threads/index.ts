export {
  type AnswerOf,
  type ArgumentOf,
  type Asked,
  type Call,
  type ErrorRules,
  type Handlers,
  type RequestOf,
  type Side,
  type Silent,
  WithTransfer,
} from "./core/index.ts";
export { boundedCommand, canBoundMemory } from "./node/bounded-command.ts";
export { checksumFile } from "./node/checksum-file.ts";
export { OwnProcess } from "./node/own-process.ts";
export { Peer } from "./node/peer.ts";
export { type ProcessLink, startProcessLink } from "./node/process-link.ts";
export { type Served, type Starter, servePeer } from "./node/serve-peer.ts";
export { startThread, type ThreadOptions } from "./node/start-thread.ts";
