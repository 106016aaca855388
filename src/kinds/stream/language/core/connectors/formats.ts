/** The formats of records, for sources and for sinks. */
import {
  choice,
  delimiter,
  type FormatDescriptor,
  flag,
  integer,
  type SettingDescriptor,
  text,
} from "./descriptor.ts";

const tupleDelimiter: SettingDescriptor = {
  key: "TUPLE_DELIMITER",
  type: delimiter,
  default: "\n",
  description:
    "What stands between two records. In CSV it may begin with FIELD_DELIMITER, as '|\\n' does with '|'.",
};
const fieldDelimiter: SettingDescriptor = {
  key: "FIELD_DELIMITER",
  type: delimiter,
  default: ",",
  description: "What stands between two fields.",
};
const malformed: readonly SettingDescriptor[] = [
  {
    key: "ON_MALFORMED",
    type: choice("fail", "null", "skip", "dead_letter"),
    default: "fail",
    description:
      "What happens to a record that cannot be read: the query fails, the field becomes NULL, or the record is left out and counted, or sent to the dead-letter sink.",
  },
  {
    key: "DEAD_LETTER_SINK",
    type: text,
    description: "The sink that receives malformed records, with their place and the reason.",
  },
  {
    key: "ISO_TIMES",
    type: flag,
    default: false,
    description:
      "Whether fields of 64-bit integers may hold ISO 8601 times, which become milliseconds since 1970.",
  },
  {
    key: "RECORD_BYTES_MAX",
    type: integer(1, 1_073_741_824),
    default: 16_777_216,
    description: "The most bytes that a record may have.",
  },
];

export const inputFormats: readonly FormatDescriptor[] = [
  {
    type: "CSV",
    description: "Fields in the order of the schema; an empty field is NULL.",
    settings: [
      fieldDelimiter,
      tupleDelimiter,
      {
        key: "QUOTES",
        type: choice("strip", "keep"),
        default: "strip",
        description: "Whether double quotes around a field are part of its value.",
      },
      {
        key: "ESCAPE",
        type: text,
        default: "",
        description:
          "The character that takes the meaning from the next one inside of quotes; a doubled quote always stands for one.",
      },
      {
        key: "HEADER",
        type: flag,
        default: false,
        description: "Whether the first record has the names, and is left out.",
      },
      ...malformed,
    ],
  },
  {
    type: "JSON",
    description:
      "An object for each record. Keys match names exactly, then case-insensitively; FIELD.name gives a path instead.",
    settings: [tupleDelimiter, ...malformed],
  },
];

const outputNames: SettingDescriptor = {
  key: "NAMES",
  type: choice("declared", "upper"),
  default: "declared",
  description: "Whether names are written as they are declared, or in capital letters.",
};
const outputFloats: SettingDescriptor = {
  key: "FLOATS",
  type: choice("shortest", "fixed"),
  default: "shortest",
  description:
    "Whether floating-point numbers have the fewest digits that mean the same number, or at most six behind the point.",
};

export const outputFormats: readonly FormatDescriptor[] = [
  {
    type: "CSV",
    description: "Fields in the order of the schema; NULL is written as NULL_TEXT.",
    settings: [
      fieldDelimiter,
      tupleDelimiter,
      {
        key: "QUOTE_STRINGS",
        type: choice("needed", "true", "false"),
        default: "needed",
        description:
          "Whether texts stand in double quotes: always, never, or where a delimiter or a quote makes it necessary.",
      },
      {
        key: "HEADER",
        type: flag,
        default: false,
        description: "Whether the names stand in the first record.",
      },
      {
        key: "NULL_TEXT",
        type: text,
        default: "NULL",
        description: "What is written for NULL.",
      },
      outputNames,
      outputFloats,
    ],
  },
  {
    type: "JSON",
    description: "An object for each record.",
    settings: [tupleDelimiter, outputNames, outputFloats],
  },
];
