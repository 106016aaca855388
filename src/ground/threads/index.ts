export {
  type AnswerOf,
  type ArgumentOf,
  type Call,
  type ErrorRules,
  type RequestOf,
  type Side,
  type Silent,
  WithTransfer,
} from "./core/index.ts";
export { boundedCommand, canBoundMemory } from "./node/bounded-command.ts";
export type { Peer } from "./node/peer.ts";
export { type Starter, servePeer } from "./node/serve-peer.ts";
export { startThread, type ThreadOptions } from "./node/start-thread.ts";
