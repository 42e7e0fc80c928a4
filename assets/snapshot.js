// The snapshot of the page goes when the live page has what it shows, or when the visitor does anything.
export default function () {
  const snapshot = document.getElementById("snapshot");
  if (!snapshot) return;
  const gone = () => { clearInterval(timer); snapshot.remove(); };
  const look = () => { if (document.querySelector(`#root ${snapshot.dataset.until}`)) requestAnimationFrame(gone); };
  const timer = setInterval(look, 50);
  for (const act of ["pointerdown", "keydown", "wheel"]) addEventListener(act, gone, { once: true, passive: true, capture: true });
}
