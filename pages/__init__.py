"""Pages of the dashboard.

Streamlit takes a folder of this name for an older kind of app, whose pages run by themselves, until `st.navigation` has
been called once. Whoever came to one of them first after a start would see it without app.py around it. Importing
this package ends that; a run that is under way by then begins anew, and runs app.py. The processes that compute for
the pages import it, too, and do without Streamlit.
"""

import sys

if "streamlit" in sys.modules:
    import streamlit as st
    from streamlit.runtime.pages_manager import PagesManager

    from .session_state import work_out_once
    from .timers import keep_to_their_page

    keep_to_their_page()
    work_out_once()
    if PagesManager.uses_pages_directory is not False:
        _bare, PagesManager.uses_pages_directory = PagesManager.uses_pages_directory, False
        if _bare:
            st.rerun()
