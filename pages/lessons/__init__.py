"""The Learn pages: one topic at a time, all drawn by one frame. A page declares a `course.Course`; a topic is a folder

    pages/<page>/topics/<name>/__init__.py     ends in TOPIC = Topic(name, title, controls, …)      `topic.Topic`
    pages/<page>/topics/<name>/text.md         its words

that is found by itself; `pages/mechanism_gallery/topics/randomised_response` is the model to start from.

* **section** of Awan's lecture notes, "3.2": it numbers the title and orders all topics of all pages (`path`). Topics
  beyond the notes, "", come last.
* **controls**: keys are parameters in the link. All topics of a page live in one address, so a key belongs to one topic
  (begin it with a short prefix, "rr_share") or is shared by several with the very same control: `widgets.EPSILON` under
  "epsilon" and `widgets.SEED` under "seed" are, so that ε stays when the topic changes. A slider over fixed stops has
  `widgets.Stops`; anything else a control of `pages.shared.address` with the widget's own limits. `tests/pages` checks
  the list as a whole: what a link may say, every picture must bear or refuse with an `InputError`.
* **sidebar(page)** draws the widgets: `widgets.epsilon(page)`, `widgets.slider`, `widgets.pick`, `widgets.seed`, or
  Streamlit's own with `key=` the control's key.
* **picture(values, colours)** is pure: values of the controls → `Picture` (headline, panels, facts, notes), in less
  than 0.3 s. Every number in it is exact, certified, or called a simulation with its seed or an estimate. Curves over
  one x are described once, by a `plot.Plot`, from which the figure, the table behind it and its words are made. Other
  figures end in `figures.finish(figure, colours, height=HEIGHT)`. Lines and colours come from `lines`: solid for what
  is computed, thin and pale for what it is compared with, dashed for estimates alone, one colour for one role in all
  topics. Numbers come from `pages.shared.prose`, with three significant digits (facts, which are cited, have more).
* **moves**, if the picture is a closed form, or its task one of hundredths of a second: the control along which it
  moves while it is dragged, as `moves=Moves("epsilon", "ε = {:g}")`.
  Nothing else is to be written: the states are the control's stops, thirty to sixty (`moving`).
* **work**, if a picture takes longer than that: a task for the background and the question to it (`topic.Work`); the
  picture finds the answer in `values["found"]`, and until then the one before stays on the page, pale. Tasks are in
  `work.py` of the page's folder, which imports no Streamlit.
* **guess**, where a number is to be predicted: the question, the places of a mark on the first chart, which shows its
  axes alone until that is set, and the truth, drawn beside it (`predicting`). It stands for the text's answers. Where a
  curve is to be predicted it is a `topic.Sketch`: its heights at a few places, drawn with the pointer.
* **text.md**, by its headings: "claim" (one sentence), "prediction" (what to predict before the numbers are seen, and
  the answers to choose from, as a list; `predicting`), "in 60 seconds" (at most 120 words, no formula that a first-year
  student could not read), "picture" and any other that a panel's `about` names (the "?"), "theorem" (the statement and
  a proof sketch, with the number in Awan's lecture notes), "references".
* **experiments**: three buttons that set controls of this topic.
* **question**: options or a number with its unit; `right` and `because` call the core, `hint` follows a miss. Its
  answer is nowhere on the page (a test looks). **vary** draws it with other numbers.
* **start**: values that show the claim, where the defaults, on which links rely, do not.
* **beside(page, values)** and **more(page)**, if any, draw what does not fit the above.
"""
