/**
 * A template that is being edited. The coordinator checks it a moment after the last change,
 * without saving. A save names the version that it is based on: if somebody else has saved
 * meanwhile, it is refused and the draft stays.
 */
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Template } from "../../../api/gen/types.ts";
import { ApiError } from "../../../api/http.ts";
import { saveTemplate, validateTemplate } from "../../../api/load.ts";
import { toastDone } from "../../../components/toasts.tsx";
import { placeProblems, readText, type TextProblem } from "./template-text.ts";

const restMs = 350;

export interface TemplateSource {
  readonly template: Template;
  readonly text: string;
}

export interface TemplateDraft {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly isChanged: boolean;
  readonly isReadable: boolean;
  readonly problems: readonly TextProblem[];
  /** Whether the current text has not been checked yet. */
  readonly isChecking: boolean;
  readonly checkError: Error | null;
  readonly save: () => void;
  readonly isSaving: boolean;
  readonly saveError: Error | null;
  readonly isConflict: boolean;
}

export function useTemplateDraft({ template, text: saved }: TemplateSource): TemplateDraft {
  const { template_id: id, updated_at_ms: seenMs } = template;
  const queries = useQueryClient();
  const [text, setText] = useState(saved);
  const [rested] = useDebouncedValue(text, restMs);
  const read = useMemo(() => readText(rested), [rested]);
  const checked = useQuery({
    queryKey: ["load-template-problems", id, rested],
    queryFn: ({ signal }) =>
      validateTemplate(id, read.kind === "document" ? read.value : undefined, signal),
    enabled: read.kind === "document" && isMapping(read.value),
    placeholderData: keepPreviousData,
    gcTime: 0,
    retry: false,
  });
  const problems = useMemo(() => {
    if (read.kind === "unreadable") return [read.problem];
    const found = isMapping(read.value)
      ? (checked.data ?? [])
      : [{ path: "", message: "expected a mapping" }];
    return placeProblems(rested, found);
  }, [read, rested, checked.data]);
  const saving = useMutation({
    mutationFn: (document: unknown) => saveTemplate(id, document, seenMs),
    onSuccess: async (next) => {
      toastDone(next.template_name, "Saved.");
      queries.setQueryData(["load-template-text", id], { template: next, text });
      queries.setQueryData(["load-template", id], next);
      await queries.invalidateQueries({ queryKey: ["load-templates"] });
    },
  });
  const now = useMemo(() => readText(text), [text]);
  const { error } = saving;
  return {
    text,
    setText: (next) => {
      saving.reset();
      setText(next);
    },
    isChanged: text !== saved,
    isReadable: now.kind === "document" && isMapping(now.value),
    problems,
    isChecking: text !== rested || checked.isFetching,
    checkError: checked.error,
    save: () => saving.mutate(now.kind === "document" ? now.value : undefined),
    isSaving: saving.isPending,
    saveError: error,
    isConflict: error instanceof ApiError && error.code === "conflict",
  };
}

function isMapping(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
