/** The types of sinks. */
import {
  type ConnectorDescriptor,
  flag,
  integer,
  type SettingDescriptor,
  text,
} from "./descriptor.ts";

const placement: SettingDescriptor = {
  key: "PLACEMENT",
  type: text,
  description: "The worker that writes the sink; any worker where it is absent.",
};

export const sinkDescriptors: readonly ConnectorDescriptor[] = [
  {
    type: "File",
    description: "Writes a file.",
    hasFormat: true,
    replayable: false,
    guarantee: "exactly once",
    settings: [
      { key: "FILE_PATH", type: text, required: true, description: "The file." },
      {
        key: "APPEND",
        type: flag,
        default: false,
        description: "Writes behind what the file has, instead of replacing it.",
      },
      placement,
    ],
  },
  {
    type: "Lake",
    description:
      "Adds rows to a table of the lake. They are there when their checkpoint is complete.",
    hasFormat: false,
    replayable: false,
    guarantee: "exactly once",
    settings: [
      {
        key: "TABLE",
        type: text,
        required: true,
        description: "The table; it is created where there is none of that name.",
      },
      placement,
    ],
  },
  {
    type: "Print",
    description: "Writes to the terminal, or to the log of the worker.",
    hasFormat: true,
    replayable: false,
    guarantee: "at least once",
    settings: [placement],
  },
  {
    type: "Void",
    description: "Counts the rows and drops them.",
    hasFormat: false,
    replayable: false,
    guarantee: "at least once",
    settings: [placement],
  },
  {
    type: "Checksum",
    description:
      "Gives two numbers at the end: the lines of the CSV output, and the sum of its bytes.",
    hasFormat: true,
    replayable: false,
    guarantee: "exactly once",
    settings: [
      { key: "FILE_PATH", type: text, description: "The file that receives the two numbers." },
      placement,
    ],
  },
  {
    type: "TCP",
    description: "Connects to a socket and writes to it.",
    hasFormat: true,
    replayable: false,
    guarantee: "at least once",
    settings: [
      { key: "SOCKET_HOST", type: text, required: true, description: "The host to connect to." },
      {
        key: "SOCKET_PORT",
        type: integer(1, 65_535),
        required: true,
        description: "The port to connect to.",
      },
      placement,
    ],
  },
];
