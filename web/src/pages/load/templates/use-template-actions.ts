/** What a user can do to templates. A toast reports each outcome. */
import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import type { Template } from "../../../api/gen/types.ts";
import { copyTemplate, deleteTemplate, exportTemplate } from "../../../api/load.ts";
import { toastDone, toastFailed } from "../../../components/toasts.tsx";
import { templateHref } from "../links.ts";

type Named = Pick<Template, "template_id" | "template_name">;

/** Navigates to the copy. */
export function useCopyTemplate(): UseMutationResult<Template, Error, Named> {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ template_id }) => copyTemplate(template_id),
    onSuccess: async (made, { template_name }) => {
      toastDone(made.template_name, `It is a copy of ${template_name}, and yours to change.`);
      await queries.invalidateQueries({ queryKey: ["load-templates"] });
      await navigate(templateHref(made.template_id));
    },
    onError: (error, { template_name }) => toastFailed(`Could not copy ${template_name}`, error),
  });
}

export function useDeleteTemplate(): UseMutationResult<void, Error, Named> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ template_id }) => deleteTemplate(template_id),
    onSuccess: async (_nothing, { template_name }) => {
      toastDone(template_name, "Deleted. Its runs are kept.");
      await queries.invalidateQueries({ queryKey: ["load-templates"] });
    },
    onError: (error, { template_name }) => toastFailed(`Could not delete ${template_name}`, error),
  });
}

/** Downloads the template as a file. */
export function useExportTemplate(): UseMutationResult<void, Error, Named> {
  return useMutation({
    mutationFn: async ({ template_id, template_name }) => {
      const yaml = await exportTemplate(template_id);
      const url = URL.createObjectURL(new Blob([yaml], { type: "application/yaml" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = `${template_name
        .replace(/[^\w.-]+/g, "-")
        .replace(/-$/, "")
        .toLowerCase()}.yaml`;
      link.click();
      URL.revokeObjectURL(url);
    },
    onError: (error, { template_name }) => toastFailed(`Could not export ${template_name}`, error),
  });
}
