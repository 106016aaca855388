export type { BoardEffect, BoardEvent, BoardLimits } from "./board-messages.ts";
export type { HeldId } from "./held-work.ts";
export type {
  Artifact,
  RejectReason,
  WorkCommand,
  WorkKey,
  WorkReport,
  WorkSpec,
} from "./messages.ts";
export { answerBytesMax, contentBytesMax, keyOf, workKeyText, workLogFields } from "./messages.ts";
export { affinityScore, hashText } from "./rendezvous.ts";
export { defaultBoardLimits, WorkBoard } from "./work-board.ts";
export type { LedgerEffect, LedgerEvent, LedgerLimits } from "./work-ledger.ts";
export { WorkLedger } from "./work-ledger.ts";
