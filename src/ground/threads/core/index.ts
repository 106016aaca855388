export type { ErrorRules } from "./error-codec.ts";
export {
  type AnswerOf,
  type ArgumentOf,
  type Asked,
  type AskOptions,
  type Call,
  type Handlers,
  type Message,
  type ProgressOf,
  type RequestOf,
  type Side,
  type Silent,
  WithTransfer,
} from "./talk.ts";
