// Keeps for a year whether the visitor wants explanations; the server reads it at the start of the next visit.
export default function ({ data }) {
  const secure = window.location.protocol === "https:" ? "; secure" : "";
  document.cookie = `dp-frontier-explain=${data.explain === true}; path=/; max-age=31536000; samesite=lax${secure}`;
}
