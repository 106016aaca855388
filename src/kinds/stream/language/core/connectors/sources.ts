/** The types of sources. */
import {
  type ConnectorDescriptor,
  choice,
  duration,
  flag,
  integer,
  type SettingDescriptor,
  text,
} from "./descriptor.ts";

const retries: readonly SettingDescriptor[] = [
  {
    key: "RETRIES",
    type: integer(0, 1_000_000),
    default: 10,
    description: "How often a source that vanished is opened again before the query fails.",
  },
  {
    key: "RETRY_INTERVAL",
    type: duration,
    default: 1000,
    description: "The time between two attempts.",
  },
];

const placement: SettingDescriptor = {
  key: "PLACEMENT",
  type: text,
  description: "The worker that reads the source; any worker where it is absent.",
};

export const sourceDescriptors: readonly ConnectorDescriptor[] = [
  {
    type: "File",
    description: "Reads a file, a directory or the files that match a pattern.",
    hasFormat: true,
    replayable: true,
    guarantee: "exactly once",
    settings: [
      {
        key: "FILE_PATH",
        type: text,
        required: true,
        description: "The file, the directory, or a pattern with * and ?.",
      },
      {
        key: "FOLLOW",
        type: flag,
        default: false,
        description: "Goes on reading what is appended, and files that are added.",
      },
      placement,
    ],
  },
  {
    type: "Lake",
    description: "Reads the rows of a table of the lake, and then those that are added to it.",
    hasFormat: false,
    replayable: true,
    guarantee: "exactly once",
    settings: [
      { key: "TABLE", type: text, required: true, description: "The table." },
      {
        key: "START",
        type: text,
        default: "earliest",
        description:
          "Where reading begins: `earliest` with the rows that the table has, `latest` with those that are added from now on, a number with those that were added after that snapshot.",
      },
      {
        key: "FOLLOW",
        type: flag,
        default: false,
        description: "Goes on with what is added, instead of ending with the snapshot of now.",
      },
      {
        key: "POLL_INTERVAL",
        type: duration,
        default: 1000,
        description: "With FOLLOW, the time between two looks at the table.",
      },
      {
        key: "ON_CHANGE",
        type: choice("fail", "ignore"),
        default: "fail",
        description:
          "What happens when rows of the table are updated or deleted: the query fails, or only rows that are added count.",
      },
      placement,
    ],
  },
  {
    type: "TCP",
    description: "Connects to a socket and reads until the other side closes it.",
    hasFormat: true,
    replayable: false,
    guarantee: "at most once",
    settings: [
      { key: "SOCKET_HOST", type: text, required: true, description: "The host to connect to." },
      {
        key: "SOCKET_PORT",
        type: integer(1, 65_535),
        required: true,
        description: "The port to connect to.",
      },
      ...retries,
      placement,
    ],
  },
  {
    type: "HTTP",
    description: "Takes rows that are sent with POST.",
    hasFormat: true,
    replayable: false,
    guarantee: "at most once",
    settings: [
      {
        key: "HTTP_HOST",
        type: text,
        default: "127.0.0.1",
        description: "The address to listen on.",
      },
      {
        key: "HTTP_PORT",
        type: integer(0, 65_535),
        default: 0,
        description: "The port to listen on; 0 takes a free one.",
      },
      { key: "HTTP_PATH", type: text, default: "/", description: "The path of the requests." },
      {
        key: "TOKEN",
        type: text,
        secret: true,
        description: "The bearer token that requests must carry.",
      },
      placement,
    ],
  },
  {
    type: "Generator",
    description: "Makes rows from sequences.",
    hasFormat: false,
    replayable: true,
    guarantee: "exactly once",
    settings: [
      {
        key: "GENERATOR_SCHEMA",
        type: text,
        required: true,
        description:
          "One generator for each column, separated by commas: SEQUENCE type from to step.",
      },
      {
        key: "STOP_GENERATOR_WHEN_SEQUENCE_FINISHES",
        type: choice("ALL", "ONE", "NONE"),
        default: "ALL",
        description:
          "Ends when all sequences have ended, when the first one has, or never. A sequence that has ended repeats its last value.",
      },
      {
        key: "SEED",
        type: integer(0, Number.MAX_SAFE_INTEGER),
        default: 0,
        description: "Where random numbers begin.",
      },
      {
        key: "ROWS_PER_SECOND",
        type: integer(0, 1_000_000_000),
        default: 0,
        description: "How fast rows are made; 0 is as fast as possible.",
      },
      placement,
    ],
  },
];
