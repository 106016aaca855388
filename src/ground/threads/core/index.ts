export type { ErrorRules } from "./error-codec.ts";
export {
  type AnswerOf,
  type ArgumentOf,
  type Asked,
  type Call,
  type Handlers,
  type RequestOf,
  type Side,
  type Silent,
  WithTransfer,
} from "./talk.ts";
